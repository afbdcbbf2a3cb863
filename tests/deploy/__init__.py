"""What is in deploy/: the image, the packages, the add-on for Home Assistant, the role for Ansible."""
