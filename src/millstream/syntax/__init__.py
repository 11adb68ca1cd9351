"""Statement text to trees and back: tokens, grammar, printer, variables."""
