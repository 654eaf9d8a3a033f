// SPDX-License-Identifier: Apache-2.0
#include "schema/proxy_env.hpp"

#include <doctest/doctest.h>

namespace anchorhold::proxy_env_test {

TEST_CASE("every spelling of a proxy variable is one (C-14)")
{
    for (const char* name : {"HTTP_PROXY", "http_proxy", "Https_Proxy", "https_proxy", "ALL_PROXY",
                             "all_proxy", "FTP_PROXY", "ws_proxy", "WSS_PROXY", "grpc_proxy",
                             "NO_PROXY", "no_proxy", "npm_config_proxy", "NPM_CONFIG_HTTPS_PROXY",
                             "npm_config_http_proxy", "npm_config_https-proxy",
                             "npm_config_HTTP-proxy", "npm_config_noproxy", "NODE_USE_ENV_PROXY"})
        CHECK_MESSAGE(is_proxy_name(name), name);
}

TEST_CASE("a name that merely resembles a proxy variable is none")
{
    for (const char* name :
         {"", "PROXY", "HTTP_PROXY_", "_HTTP_PROXY", "MY_HTTP_PROXY", "HTTP-PROXY", "HTTPPROXY",
          "HTTP_PROXY ", "HTTP_PROXY=", "SOCKS_PROXY", "RSYNC_PROXY", "npm_config_no_proxy",
          "npm_config_no-proxy", "npm_config_https_proxy_x", "no_proxy2", "http_pro\u212ay"})
        CHECK_MESSAGE(!is_proxy_name(name), name);
}

TEST_CASE("an entry's name ends at the first equals sign, or with the entry (C-59)")
{
    CHECK(env_name("A=1=2") == "A");
    CHECK(env_name("HTTP_PROXY") == "HTTP_PROXY");
    CHECK(env_name("=x") == "");
    CHECK(env_name("") == "");
    CHECK(env_name("B=line1\nline2") == "B");
    CHECK(env_name("A B=1") == "A B");
}

TEST_CASE("NO_PROXY theory per spelling: both say the same, with the relay's addresses (C-47)")
{
    const std::string ours = "localhost,127.0.0.1,::1";
    struct Row {
        std::vector<std::string> given;
        std::string list;
    };
    const Row rows[] = {
        {{}, ours},
        {{"NO_PROXY="}, ours},
        {{"NO_PROXY"}, ours},
        {{"no_proxy=", "NO_PROXY=a"}, "a," + ours},
        {{"NO_PROXY=10.0.0.0/8"}, "10.0.0.0/8," + ours},
        {{"no_proxy=127.0.0.1:80"}, "127.0.0.1:80," + ours},
        {{"NO_PROXY= localhost , ,x"}, "localhost,x,127.0.0.1,::1"},
        {{"NO_PROXY=.corp,127.0.0.1"}, ".corp,127.0.0.1,localhost,::1"},
        {{"no_proxy=a,b"}, "a,b," + ours},
        {{"NO_PROXY=a,b", "no_proxy=b,c"}, "a,b,c," + ours},
        {{"no_proxy=b,c", "NO_PROXY=a,b"}, "b,c,a," + ours},
        {{"No_Proxy=a"}, "a," + ours},
        {{"NO_PROXY=a", "NO_PROXY=b"}, "a,b," + ours},
        {{"NO_PROXY=*.corp,x*"}, "*.corp,x*," + ours},
        {{"npm_config_noproxy=a"}, ours},
    };
    for (const Row& row : rows) {
        std::vector<std::string> environment = row.given;
        environment.emplace_back("HTTPS_PROXY=http://p:1");
        CHECK(exempt_relay(environment) == Exemption{row.list, row.list});
        // Applying it again changes nothing.
        CHECK(exempt_relay({"https_proxy=p", "NO_PROXY=" + row.list, "no_proxy=" + row.list}) ==
              Exemption{row.list, row.list});
    }
}

TEST_CASE("NO_PROXY theory per spelling: a star stays beside the addresses, and alone in no_proxy")
{
    const std::string ours = "localhost,127.0.0.1,::1";
    struct Row {
        std::vector<std::string> given;
        std::string upper;
    };
    const Row rows[] = {
        {{"NO_PROXY=*"}, "*," + ours},
        {{"no_proxy=*"}, "*," + ours},
        {{"NO_PROXY=*", "no_proxy=*"}, "*," + ours},
        {{"NO_PROXY=a,*"}, "a,*," + ours},
        {{"no_proxy= * ,a"}, "*,a," + ours},
        {{"NO_PROXY=a", "no_proxy=*"}, "a,*," + ours},
        {{"NO_PROXY=*", "no_proxy=a"}, "*,a," + ours},
    };
    for (const Row& row : rows) {
        std::vector<std::string> environment = row.given;
        environment.emplace_back("http_proxy=http://p:1");
        CHECK(exempt_relay(environment) == Exemption{row.upper, "*"});
        CHECK(exempt_relay({"http_proxy=p", "NO_PROXY=" + row.upper, "no_proxy=*"}) ==
              Exemption{row.upper, "*"});
    }
}

TEST_CASE("a proxy is a variable with a value, whichever of them it is")
{
    for (const char* entry : {"HTTP_PROXY=p", "https_proxy=p", "ALL_PROXY=socks5h://u:p@x:1",
                              "all_proxy=p", "Ws_Proxy=p", "npm_config_https-proxy=p"})
        CHECK_MESSAGE(exempt_relay({"A=1", entry}).has_value(), entry);
    for (const char* entry :
         {"", "A=1", "HTTP_PROXY=", "HTTP_PROXY", "all_proxy=", "NO_PROXY=a", "no_proxy=*",
          "npm_config_noproxy=a", "NODE_USE_ENV_PROXY=1", "MY_HTTP_PROXY=p"})
        CHECK_MESSAGE(!exempt_relay({entry}).has_value(), entry);
}

} // namespace anchorhold::proxy_env_test
