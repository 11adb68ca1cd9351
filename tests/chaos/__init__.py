"""The storm: queries of every shape under load, while what they stand on is killed, frozen and taken away."""
