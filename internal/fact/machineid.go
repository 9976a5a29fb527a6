package fact

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"github.com/zclconf/go-cty/cty"
)

// machineID follows machine-id(5): the content of the file must not be shown. A keyed hash of it identifies the host as
// well.
func machineID(s *source) (cty.Value, error) {
	t, err := s.text("/etc/machine-id")
	name := machineName(word(t))
	if name == "" {
		return cty.NullVal(cty.String), err
	}
	return cty.StringVal(name), err
}

// machineName returns the fact machine_id for the content of /etc/machine-id, or "" if it is invalid.
func machineName(text string) string {
	id, err := hex.DecodeString(text)
	if err != nil || len(id) != 16 {
		return ""
	}
	mac := hmac.New(sha256.New, id)
	mac.Write([]byte("fettle machine_id"))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}
