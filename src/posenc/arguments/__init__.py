"""What every floor asks of its callers and of the machine, each question in one place."""
