"""Descriptions of Certus for the infrastructure of others."""
