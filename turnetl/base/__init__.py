"""What every package may use: ids, the model, the schema, errors, reasons, files and times."""
