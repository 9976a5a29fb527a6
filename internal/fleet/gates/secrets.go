package gates

// Secrets contains secrets for signatures, and tokens. *notify.Sender implements it.
type Secrets interface {
	// Secret returns the content of a file, without leading and trailing white space.
	Secret(name string) (string, error)
}
