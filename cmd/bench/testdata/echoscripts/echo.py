from sallyport import tool


@tool
def echo(text: str) -> str:
    """answers with its text"""
    return text
