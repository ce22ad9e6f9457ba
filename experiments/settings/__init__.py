"""Which settings matter here, each changed alone?"""
