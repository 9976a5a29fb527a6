package versions

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/klauspost/compress/flate"
)

// digest identifies the content of a version.
type digest [sha256.Size]byte

// Version is a version of the main part of a page, as the streams of all its viewers send it.
type Version struct {
	digest digest
	// packed is the event for a browser, as blocks in the format deflate. They refer to no earlier data, so they can
	// follow any other blocks.
	packed []byte
	read   time.Time // the time when the page was read
}

// packer compresses versions. The zero value is ready for use; it has no lock.
type packer struct{ writer *flate.Writer }

// version compresses a text once for all its viewers.
func (p *packer) version(text []byte, read time.Time) (Version, error) {
	line, err := json.Marshal(string(text))
	if err != nil {
		return Version{}, err
	}
	var b bytes.Buffer
	if p.writer == nil {
		p.writer, err = flate.NewWriter(&b, flate.DefaultCompression)
	} else {
		p.writer.Reset(&b)
	}
	if err == nil {
		_, err = fmt.Fprintf(p.writer, "event: page\ndata: %s\n\n", line)
	}
	if err == nil {
		err = p.writer.Flush()
	}
	return Version{sha256.Sum256(text), b.Bytes(), read}, err
}
