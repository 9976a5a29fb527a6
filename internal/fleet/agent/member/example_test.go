package member_test

import (
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet/agent/member"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

func Example() {
	files := mem.NewFS(mem.Options{})
	_ = files.Mkdir("/agent", 0o700)
	_, err := member.Open(member.Config{Files: files, Dir: "/agent", Now: time.Now})
	fmt.Println(errors.Is(err, pki.ErrNoIdentity))
	// Output: true
}
