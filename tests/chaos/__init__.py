"""The storm: queries of every shape under load, while servers, brokers and executors are killed, frozen, cut off."""
