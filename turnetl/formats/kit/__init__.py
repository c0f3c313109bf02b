"""What formats are made with: lines, documents and rows read, mended, placed and counted."""
