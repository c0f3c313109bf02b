"""What each page shows, of the answers of the index. Reads and writes nothing."""
