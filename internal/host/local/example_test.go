package local_test

import (
	"fmt"
	"os"

	"fettle.dev/fettle/internal/host/local"
)

func Example() {
	root, err := os.MkdirTemp("", "root")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	h, err := local.Open(root, local.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	err = h.Mkdir("/etc", 0o755)
	st, _ := h.Lstat("/etc")
	fmt.Printf("%v %s %o %d\n", err, st.Type, st.Mode, st.UID)
	// Output: <nil> dir 755 0
}
