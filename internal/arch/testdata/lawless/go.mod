module fettle.dev/fettle

go 1.26.5
