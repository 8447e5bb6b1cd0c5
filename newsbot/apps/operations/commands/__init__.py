"""Declares the commands of the app, a module for each."""
