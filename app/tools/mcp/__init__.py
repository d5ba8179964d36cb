"""Tools of MCP servers: which servers an operator names, what they offer, and how they are held and called.

What a server says of itself is the word of a stranger. It is bounded, checked and marked before anybody reads it, and
what it said first stays in force until the process ends.
"""
