"""What the chaos run is made of: files, clients that do not give up, mischief, and a look at what it left."""
