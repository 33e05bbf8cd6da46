% unsat: the program Rational, which swaps numerator and denominator (Flanagan 2004, Figure 1, column 2)
TRat(X, Y, N, D, H, N2, D2, H2, This) :-
    select(H, This) = 0,
    H2 = store(H, This, 1),
    N2 = store(N, This, X),
    D2 = store(D, This, Y).
Etrunc(This, N, D) :- select(D, This) = 0.
TreadInt(R).
Eloop(This, I, N, D) :-
    I < 100000,
    ( Etrunc(This, N, D) ; Eloop(This, I + 1, N, D) ).
Emain() :-
    TreadInt(X),
    TreadInt(Y),
    Y \= 0,
    TRat(Y, X, N, D, H, N2, D2, H2, This),
    Eloop(This, 0, N2, D2).
false :- Emain().
