"""What does a power cut lose of what was acknowledged, with which settings?"""
