"""The explorer: one HTML file that is opened from disk."""
