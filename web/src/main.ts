import { mount } from 'svelte';
import './styles/tokens.css';
import './styles/base.css';
import './styles/controls.css';
import App from './App.svelte';
import { loadRules } from './engine/load';
import { keepOffline } from './offline/register';
import { applyTheme } from './theme.svelte';
import { surviveStaleChunks } from './stale';

applyTheme();
surviveStaleChunks();
keepOffline();
// Every page needs them; a page that waits for them also says what went wrong.
loadRules().catch(() => {});
const target = document.getElementById('app');
if (target) mount(App, { target });
