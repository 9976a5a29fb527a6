package apt

import (
	"bytes"
	"strings"

	"fettle.dev/fettle/internal/host"
)

// maxProgressLine bounds one line of output, in bytes. The rest of a longer line is dropped.
const maxProgressLine = 1024

// aptWatch returns a function for host.Command.Watch that reports each step of apt and dpkg.
func aptWatch(progress func(host.Progress)) func(stderr bool, p []byte) {
	if progress == nil {
		return nil
	}
	var line []byte
	return func(stderr bool, p []byte) {
		if stderr {
			return
		}
		for len(p) > 0 {
			part, rest, ended := bytes.Cut(p, []byte("\n"))
			line = append(line, part[:min(len(part), maxProgressLine-len(line))]...)
			if ended {
				if text := aptStep(string(line)); text != "" {
					progress(host.Progress{Text: text})
				}
				line = line[:0]
			}
			p = rest
		}
	}
}

// aptStep returns what a line of apt-get -q or dpkg reports, "" for other lines: a download, such as
// "Get:3 http://deb.debian.org/debian bookworm/main amd64 nginx amd64 1.22.1-9 [527 kB]", the sum
// of all downloads, and the steps of dpkg.
func aptStep(line string) string {
	words := strings.Fields(line)
	if len(words) < 2 {
		return ""
	}
	size := strings.Join(words[max(len(words)-2, 0):], " ")
	switch {
	case strings.HasPrefix(words[0], "Get:") && len(words) >= 8 && strings.HasPrefix(size, "[") &&
		strings.HasSuffix(size, "]"):
		return "downloading " + words[4] + ", " + strings.Trim(size, "[]")
	case words[0] == "Fetched" && len(words) >= 3:
		return "downloaded " + words[1] + " " + words[2]
	case words[0] == "Unpacking", words[0] == "Removing", words[0] == "Purging", words[0] == "Setting" && words[1] == "up",
		words[0] == "Processing" && words[1] == "triggers":
		return strings.ToLower(words[0]) + " " + strings.TrimSuffix(strings.Join(words[1:], " "), " ...")
	}
	return ""
}
