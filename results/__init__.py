"""What comes out: the command line, reports and published figures."""
