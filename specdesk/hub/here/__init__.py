"""What is on this machine: files of specdesk's own, of the user's and of other apps. Nothing here asks the network."""
