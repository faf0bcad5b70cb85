"""Facts measured on IR. Nothing here changes the IR."""
