package content

import "strings"

// CompressForTest is what a hub sends for a text.
func CompressForTest(text string) []byte { return compress(strings.NewReader(text), int64(len(text))) }
