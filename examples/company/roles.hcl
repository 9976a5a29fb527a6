# What a host is for. Ports that a role opens join those that every host has.
role "web" {
  modules = ["nginx", "site"]
  vars = {
    open = { http = { port = 80 }, https = { port = 443 } }
  }
}

role "app" {
  modules = ["nginx", "redis", "app"]
  vars = {
    nginx_workers = 2
    open          = { app = { port = 8080, from = ["10.0.0.0/8"] } }
  }
}

role "db" {
  modules = ["postgres", "pgbackup"]
  vars = {
    open          = { postgres = { port = 5432, from = ["10.0.0.0/8"] } }
    extra_sysctl  = { "net.ipv4.tcp_keepalive_time" = "300" }
    backup_paths  = ["/etc", "/var/backups/postgres"]
    scrape_labels = { tier = "data" }
  }
}

role "monitoring" {
  modules = ["nginx", "prometheus", "grafana"]
  vars = {
    open = { grafana = { port = 443, from = ["10.0.0.0/8"] }, alertmanager = { port = 9093, from = ["10.0.0.0/8"] } }
  }
}

role "bastion" {
  modules = ["bastion"]
  vars = {
    ssh_from    = ["0.0.0.0/0"]
    ssh_forward = true
  }
}

role "dns" {
  modules = ["dns"]
  vars = {
    open = {
      dns     = { port = 53, from = ["10.0.0.0/8"] }
      dns_udp = { port = 53, protocol = "udp", from = ["10.0.0.0/8"] }
    }
  }
}
