"""What is asked: task definitions, data, mini sets and the plugin for the host."""
