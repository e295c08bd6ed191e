"""Plots and pages from the results that the airpace program stores. Nothing is measured here."""
