"""May this effect happen?"""
