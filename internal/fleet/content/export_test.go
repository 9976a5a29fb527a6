package content

import "strings"

// CompressForTest returns the compressed text as a hub sends it.
func CompressForTest(text string) []byte { return compress(strings.NewReader(text), int64(len(text))) }
