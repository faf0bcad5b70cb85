"""Facts measured on IR; nothing here changes it."""
