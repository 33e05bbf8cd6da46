"""Certus: a software model checker that gives evidence for every answer."""
