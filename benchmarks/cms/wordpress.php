<?php
// php wordpress.php HOST THEME POSTS.json: installs WordPress on its first run, then writes the posts.
// A post that is known by its slug is updated when its text differs. Run in the folder of wp-config.php.
[$_, $cms_host, $cms_theme, $cms_file] = $argv; // names that WordPress does not set
$_SERVER['HTTP_HOST'] = $cms_host;
$_SERVER['REQUEST_URI'] = '/';
$_SERVER['SERVER_PROTOCOL'] = 'HTTP/1.1';
$first = !file_exists('installed');
if ($first && !isset($argv[4])) {
    // In a process of its own, because WP_INSTALLING is a constant.
    passthru(escapeshellcmd(PHP_BINARY) . ' ' . implode(' ', array_map('escapeshellarg', $argv)) . ' install', $code);
    if ($code) {
        exit($code);
    }
    touch('installed');
}
if (isset($argv[4])) {
    define('WP_INSTALLING', true);
    require './wp-load.php';
    require ABSPATH . 'wp-admin/includes/upgrade.php';
    wp_install('WordPress News', 'editors', 'editors@example.org', true, '', 'secret');
    update_option('timezone_string', 'Europe/Berlin');
    update_option('permalink_structure', '/%year%/%monthnum%/%postname%/');
    update_option('template', $cms_theme);
    update_option('stylesheet', $cms_theme);
    exit(0);
}
require './wp-load.php';
require_once ABSPATH . 'wp-admin/includes/taxonomy.php';
wp_delete_post(1, true);
$forms = [
    'p' => ['paragraph', '<p>%s</p>'],
    'h2' => ['heading', '<h2>%s</h2>'],
    'li' => ['list', '<ul><li>%s</li></ul>'],
    'code' => ['code', '<pre class="wp-block-code"><code>%s</code></pre>'],
    'row' => ['table', '<figure class="wp-block-table"><table><tbody><tr><td>%s</td></tr></tbody></table></figure>'],
    'caption' => ['image', '<figure class="wp-block-image"><img src="/picture.png" alt=""/><figcaption>%s</figcaption></figure>'],
    'quote' => ['quote', '<blockquote class="wp-block-quote"><p>%s</p></blockquote>'],
];
$users = [];
foreach (json_decode(file_get_contents($cms_file), true) as $post) {
    $name = $post['author'];
    if (!isset($users[$name])) {
        $login = sanitize_title($name);
        $users[$name] = get_user_by('login', $login)->ID ?? wp_insert_user(
            ['user_login' => $login, 'user_pass' => 'secret', 'display_name' => $name, 'role' => 'author']
        );
    }
    $content = '';
    foreach ($post['blocks'] as [$kind, $text]) {
        [$block, $form] = $forms[$kind];
        $shown = $kind === 'row' ? str_replace(' | ', '</td><td>', esc_html($text)) : esc_html($text);
        $content .= "<!-- wp:$block -->\n" . sprintf($form, $shown) . "\n<!-- /wp:$block -->\n\n";
    }
    $known = get_page_by_path($post['slug'], OBJECT, 'post');
    if ($known && $known->post_content === $content) {
        continue;
    }
    $id = wp_insert_post(wp_slash([
        'ID' => $known->ID ?? 0,
        'post_title' => $post['title'],
        'post_name' => $post['slug'],
        'post_author' => $users[$name],
        'post_date' => $post['local'],
        'post_content' => $content,
        'post_status' => 'publish',
        'post_category' => [wp_create_category($post['category'])],
    ]), true);
    if (is_wp_error($id)) {
        fwrite(STDERR, $id->get_error_message());
        exit(1);
    }
}
flush_rewrite_rules();
