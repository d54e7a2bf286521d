"""What of the composed registry is on: configuration layers and the state of each capability (spec 40)."""
