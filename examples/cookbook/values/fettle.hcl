target "web1" { modules = ["web"] }
target "web2" { modules = ["web"] }
target "lb1" { modules = ["lb"] }
