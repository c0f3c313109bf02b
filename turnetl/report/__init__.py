"""What a run did, as a person reads it and as a program does."""
