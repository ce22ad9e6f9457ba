"""Tables and plots of what runs measured."""
