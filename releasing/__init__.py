"""What a release is made with: notes from fragments, pins, the list of licences."""
