file "/etc/etcd.conf" { content = "# managed by fettle\n" }
