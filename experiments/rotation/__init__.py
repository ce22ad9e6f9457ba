"""What does rotating a slow query log do to a busy server, and what is lost of the log?"""
