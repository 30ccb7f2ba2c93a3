"""The canteen portion set: every food on a tray with its grams."""
