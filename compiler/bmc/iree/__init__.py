"""What bmc knows of IREE as a program: the only folder that taking another IREE should touch first."""
