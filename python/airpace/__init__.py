"""Plots and pages from what the airpace program stored. Nothing here measures anything."""
