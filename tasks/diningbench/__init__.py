"""DiningBench: dish classification, nutrition and food questions from photos."""
