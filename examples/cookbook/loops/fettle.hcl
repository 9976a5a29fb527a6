data = ["data/sites.yaml"]

target "web1" { modules = ["sites"] }
