"""What programs ask about devices: there is the processor, and no accelerator."""
