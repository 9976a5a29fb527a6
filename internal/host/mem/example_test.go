package mem_test

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

func Example() {
	h := mem.New(mem.Options{})
	h.Repository().Publish(mem.Release{Name: "libssl", Version: "3.0"})
	h.Repository().Publish(mem.Release{
		Name: "nginx", Version: "1.22", Depends: []string{"libssl"},
		Files: map[string]string{"/etc/nginx/nginx.conf": "events {}\n"},
	})
	pkgs, _ := h.Packages()
	also, err := pkgs.Change(context.Background(), []host.PackageChange{{Name: "nginx"}}, nil)
	there, _ := host.Exists(h, "/etc/nginx/nginx.conf")
	fmt.Println(also, err, there)
	// Output: map[libssl:] <nil> true
}
