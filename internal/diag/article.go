package diag

import "strings"

// One returns a name with its article, for the middle of a sentence: "an exec", "a file". The
// article depends on how the names of kinds and types are pronounced: by their letters or as words.
func One(name string) string {
	for _, said := range [...]string{"a", "e", "i", "o", "x", "ssh", "nft"} {
		if strings.HasPrefix(name, said) {
			return "an " + name
		}
	}
	return "a " + name
}

// FirstOne is One at the beginning of a sentence.
func FirstOne(name string) string { return "A" + One(name)[1:] }
