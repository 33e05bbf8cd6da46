"""The counts of a campaign of corner programs as text."""

from __future__ import annotations

from collections import Counter

from certus.pipeline.fuzz.corners.campaign import Corners


def summary(corners: Corners) -> str:
    """What was compared, what was not and why, and what disagreed."""
    counts = corners.counts
    discarded = counts["discarded: not compiled"] + counts["discarded: undefined"]
    lines = [
        f"{counts['programs']} programs (LP64 {counts['programs LP64']}, ILP32 {counts['programs ILP32']}), "
        f"seed {corners.seed}, {corners.seconds:.0f} s",
        f"agreed: {counts['agreed']} programs with {counts['observations']} observations",
        f"discarded: {discarded} (not compiled {counts['discarded: not compiled']}, "
        f"undefined {counts['discarded: undefined']})",
    ]
    lines += _listed("verify", _under(counts, "verify: "))
    lines += _listed("not compared", _under(counts, "not compared: "))
    lines += [f"refused as a whole: {counts['refused as a whole']} programs"]
    lines += _listed("refused parts, by cause", _by(corners.refusals, 0))
    lines += _listed("refused parts, by family", _by(corners.refusals, 1))
    lines += [f"disagreements: {sum(corners.kinds.values())} of {len(corners.kinds)} kinds"]
    lines += [f"  {count:5}  {kind}" for kind, count in corners.kinds.most_common()]
    return "\n".join(lines)


def _under(counts: Counter[str], prefix: str) -> Counter[str]:
    return Counter({key.removeprefix(prefix): n for key, n in counts.items() if key.startswith(prefix)})


def _by(counts: Counter[str], part: int) -> Counter[str]:
    """Counts by one part of their keys, which have the form `cause: family`."""
    found: Counter[str] = Counter()
    for key, count in counts.items():
        found[key.split(": ")[part]] += count
    return found


def _listed(title: str, counts: Counter[str]) -> list[str]:
    if not counts:
        return []
    found = ", ".join(f"{key} {count}" for key, count in counts.most_common())
    return [f"{title}: {sum(counts.values())} ({found})"]
